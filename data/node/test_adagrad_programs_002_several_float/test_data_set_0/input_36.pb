BH_rowsJe
^@MÒ£>ñmB@Zb?‚g@ŠMA@