BV1_newJ
Bµ[Æ3