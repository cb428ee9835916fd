BV6_newJ0@Wh§òùýÀrr¨rH0A³ÜtEÁ”µaãkLÁHƒuI·7
Á°_› Á