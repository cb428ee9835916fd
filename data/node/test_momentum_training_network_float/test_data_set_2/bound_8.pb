BV_B2_newJ”›­a
¶>