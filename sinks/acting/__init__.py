"""Steps that act on calls: who may run one, and what runs beside a stream."""
