BV4_new_laterJ×ö¿ò£>®
Ùe­~>