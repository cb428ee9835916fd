BX2_new_twin_againJ lLoÖV‡ñ¿£‡~œôŞ¿
Š•„Oô¿¨Ö£6~šÓ¿