B
V_second_GJ vðZ;±Q€>WBzKÇ”ˆ>b=)ŠÓ‡†>‰lPÚ¯Š>