BV3_new_twin_ifJd&
לנ׃¿‏@א@ד¿