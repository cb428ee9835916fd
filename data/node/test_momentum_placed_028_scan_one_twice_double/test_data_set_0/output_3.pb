BV2_new_negativeJ0Ô…ÈÍ¿¼!Y‡nÌ¿;8KšÛ?hWîD—Ù¿ ¡·úşV¿n
C+Ô?