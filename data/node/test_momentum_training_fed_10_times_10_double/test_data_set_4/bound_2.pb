BV_newJ%í
º:f×<ÿ9ì¦Ï<E fÐZæ<