B
V_second_XJh¾:¿'˜¿¨Q¾¸&>