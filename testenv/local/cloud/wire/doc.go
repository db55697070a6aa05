// Package wire speaks the protocols of AWS so that the service models in
// testenv/local/cloud need to know none of them: AWS JSON 1.0 and 1.1, AWS Query, the
// EC2 dialect of it, REST JSON and REST XML. It decides how requests are
// decoded and how results and errors look on the wire; what they mean belongs
// to the models, and who may send them to the front door (package cloud).
//
// A service lists its actions as plain functions:
//
//	func NewHandler(m *Model) http.Handler {
//		return wire.JSON{
//			Version:      "1.0",
//			TargetPrefix: "DynamoDB_20120810",
//			ErrorPrefix:  "com.amazonaws.dynamodb.v20120810#",
//			CRC32:        true,
//			Actions: map[string]wire.JSONAction{
//				"GetItem": wire.JSONFunc(m.getItem), // func(context.Context, *getItemInput) (*getItemOutput, error)
//			},
//		}
//	}
//
// An action answers with an *Error for anything AWS would refuse; every other
// error becomes an InternalFailure with status 500.
package wire
