// Package attribute holds DynamoDB attribute values as plain data: their ten types, the 38-digit
// decimal Number, equality and order, the size AWS bills, and the typed JSON of the wire.
//
// It decides what a single well-formed value is and refuses every other with the message AWS gives.
// It knows nothing of tables, keys or expressions: those are in the packages dynamodb and expression.
//
//	v := attribute.String("ready")
//	item := attribute.Item{"pk": attribute.String("C#blue"), "v": attribute.Int(3)}
//	item.SizeBytes() // 2+6 for pk, 1+2 for v: 11
//
// Values are immutable by convention: whoever changes an item copies what it changes (see Item.Clone).
package attribute
