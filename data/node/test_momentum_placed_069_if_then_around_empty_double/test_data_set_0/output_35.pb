BV4_negative_ifJ ÉgˆXÖ?$
mÊØØ¿