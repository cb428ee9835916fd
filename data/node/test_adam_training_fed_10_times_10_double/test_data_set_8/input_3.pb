BVJ\q
Ì`\§?<JQF±¼¿ºrBZ——?