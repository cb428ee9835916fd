BX_newJùeA
¿£>b¾à³¢>O98ÐzÊ²>