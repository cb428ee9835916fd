BX1_new_againJ ³µ¶GWE¯<z]»xÑ<@®y#
¸<ë=}Á“²<