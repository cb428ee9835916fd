BV2_new_capturedJ Þ…สตy|>ผt$ฦ
>ýฝทธV>-x`1m>