BV3_new_twin_negative_ifJd&
לנ׃?‏@א@ד?