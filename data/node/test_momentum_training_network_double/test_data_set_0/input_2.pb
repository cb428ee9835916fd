BfeaturesJ0ÄÓûJXÔ¿À%RZZÂ¿’7¹–nwû?ÊR@
LPð?p>fÑ?©bÖý­ú?