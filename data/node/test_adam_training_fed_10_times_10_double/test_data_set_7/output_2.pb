BV_newJ\q
Ì`\§?<JQF±¼¿ºrBZ——?