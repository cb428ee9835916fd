BX7_newJñp=
‡AÀ