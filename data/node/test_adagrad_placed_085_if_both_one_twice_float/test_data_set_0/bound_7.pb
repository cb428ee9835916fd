BH2_new_negativeJ0"voK"Ц>I
яз86│>ivЄ°┐и>ЯGj
·╕>лLр╬▌▒>▐ргхRъд>