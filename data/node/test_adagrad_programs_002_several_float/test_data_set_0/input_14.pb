B
G_beside_XJ¯E|?ÏÐú>S¹Ú¿‚—í?