"""Texts of many kinds, written for these tests, as people may give them to a model."""

_LETTERS = "The mate of the brig Halcyon wrote to his sister in Bristol every week, and every week the packet lost the letter. "

VARIED = {
    "news": "The mayor of Lowmarket, Ines Dahl, opened the bridge over the river Tarn on Friday. Her party lost two seats.",
    "sport": "Rovers beat Port Vale 3-1 at Vale Park; Okafor scored twice before the visiting keeper was sent off.",
    "finance": "Shares of Merrow & Sons plc rose 4.2% to £13.07 after the bank's U.S. arm was sold to a Dutch insurer.",
    "fiction": "“My dear Mrs. Quist,” said the doctor’s wife, “your husband’s carriage is at our gate.”",
    "old fiction": "And it came to pass that the smith of that village, whose forge stood by the mill, had three sons.",
    "abstract": "IL-2 gene transcription in human T cells requires NF-kappa B; cyclosporin A inhibits calcineurin.",
    "case report": "A 54-year-old woman with type 2 diabetes mellitus developed lactic acidosis while taking metformin.",
    "e-mail": "From: tom@ferry.example\nTo: Ann Lee <ann@ferry.example>\nSubject: Re: boat\n\nHi Ann,\n\ncan we meet at the Old Mill on Tues?\n\n> On Mon, Ann wrote:\n> no\n\nTom",
    "all capitals": "PRESIDENT MARA QUIST OF THE UNITED PORTS VISITED OSLO ON TUESDAY WITH HER BROTHER.",
    "lower case": "my cousin ben lives in new york near the museum and works for the red cross",
    "no punctuation": "so then we went to the station and the driver of the bus said his wife was in paris and we all laughed",
    "emoji": "Meeting 👩‍👩‍👧 Zoë Lindqvist 🇳🇴 in Bergen 🚢🚢 tmrw!!! 😂😂 #fjord @ferry_co https://ferry.example/a?b=c",
    "German": "Der Bürgermeister von Lübeck traf die Tochter des Reeders in der Marienkirche.",
    "Russian": "Президент университета приехал в Москву с сестрой.",
    "Chinese": "他昨天从北京飞往上海，见了公司的总裁。",
    "Arabic": "زار رئيس الجامعة مدينة القاهرة يوم الاثنين.",
    "HTML": "<html><body class='x'><p>Ann&nbsp;Lee of <b>Port&amp;Co</b> lives in <a href=\"/oslo\">Oslo</a>.</p></body></html>",
    "table": "name\tcity\tcompany\nAnn Lee\tOslo\tFerry Ltd\nTom Ferrer\tKiel\t-\n\n\n",
    "odd characters": "\ufeffA\u200bnn Le\u0301e\u00a0met\u2028the ca\u00adptain\x00 of the ﬁrst ship.\r\n\r\n\u202eoslO\u202c",
    "three thousand words": _LETTERS * 150,
}
