B
V_infiniteJ6“4¿²,}?­ö¢>ÁDÊ>