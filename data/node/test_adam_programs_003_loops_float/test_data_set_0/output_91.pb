BX_now_turnedJŠĞˆ¾lD¿æ
F¿üŞ€?