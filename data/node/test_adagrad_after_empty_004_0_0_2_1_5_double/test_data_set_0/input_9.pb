BG3J ®
jQk±¿ÖAçv¯Bõ?