BvvvvvvvvJ x
ף±§Ûד¿,L׃R˜א?ׁ5׳¿¨†Wאמxג¿