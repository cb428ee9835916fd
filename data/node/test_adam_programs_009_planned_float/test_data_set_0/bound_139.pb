BH_new_continued_betaJ %ЉЬЯ

ґ>є—Њ@к®>МV,GН6ѕ>;зB\9Л>