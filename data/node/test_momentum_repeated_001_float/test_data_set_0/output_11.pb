BV2_new_V_secondJ¿â)¿
FY>—¤3¿L½