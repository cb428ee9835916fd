B
X_new_twinJ0)ø2™J&>‰VÚêL9w>¦cÓÜMW„> pÀËÚŽ>S„ö—9J•>ÝQ"™Ù\r>