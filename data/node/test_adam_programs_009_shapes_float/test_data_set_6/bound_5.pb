BH_new_shapes_2JЁ0»м„Ч±>_ЖЃчо
°>