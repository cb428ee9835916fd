BV1_new_laterJ °[‚p/±ö?n'¾?õ?t…›ú¢
Ð¿ýÂbhz½þ¿