BX1_newJ
<AkÀðý=