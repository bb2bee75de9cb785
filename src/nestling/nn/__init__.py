"""Tensors in, tensors out. Nothing here knows a file, a label name, a setting or a log.

One letter an axis: B sentences, T words, D hidden size, P pieces of a row, R rows of pieces, K pieces of a word,
S spans, L labels, W widest span, C characters of a word, F features of a word. Masks are bool, True = real.
"""
