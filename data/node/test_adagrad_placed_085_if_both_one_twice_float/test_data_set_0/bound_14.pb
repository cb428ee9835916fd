BH2_new_twinJ0"voK"Ц>I
яз86│>ivЄ°┐и>ЯGj
·╕>лLр╬▌▒>▐ргхRъд>