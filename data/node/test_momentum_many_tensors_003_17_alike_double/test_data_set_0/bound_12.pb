BX13_newJ”ÆZ6o’<Ô
)Âm<—<