B
V11_new_ifJЅoУ=двD?hЖ/?Дї