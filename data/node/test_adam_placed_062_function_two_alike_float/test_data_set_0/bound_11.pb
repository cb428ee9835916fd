BH2_new_laterJ *©ä¦ÌúÈ>Ý¥)±±> Ú
ixb¤>ÝZ¤vÌÉ´>