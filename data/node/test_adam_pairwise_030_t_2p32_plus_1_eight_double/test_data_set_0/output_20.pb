BH5_newJ(κΧITPB\ hσκμ.B©
Z³CcB”Φª½υ€B9Β­κª/}B