BX1_new_twin_laterJ0cๆÝมม>ส'r฿ว>ช
Nฅอ>Ü๖ยý{>Vkค`ฏฦ>ควkPฉ>