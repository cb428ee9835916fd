BX1_new_twin_laterJ IKÔ
…”>/é©r›>"{a6î˜n>ÎQÕJß”>