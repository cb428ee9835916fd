BH_newJTĞ@K
AS%@ˆ†›@