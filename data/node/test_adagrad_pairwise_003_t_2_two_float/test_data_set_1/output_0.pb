BX1_newJ๋
กษ่ษÜRG