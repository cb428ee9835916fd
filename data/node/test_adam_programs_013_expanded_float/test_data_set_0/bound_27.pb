BX_new_H_row_secondJ •&ˆ}¥>³ÊÁÌ
¨>"üb#Ë±>u2?‹>