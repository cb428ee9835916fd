BAbCDefghijklmnopJ 
]–Ò÷?¹¿šq¢Ù¿îÙ“|Cã×?œºpŒ¬¿