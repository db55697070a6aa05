// Package shape holds requests and answers against the published models of AWS's services: that their members exist, are of
// the right type, that an enumeration has the value, and that nothing required is missing. The models are the JSON files
// botocore carries (service-2.json); what is evaluated is what package wire has written down while tests ran.
//
//	model, err := shape.Load("…/botocore/data", "sqs")
//	problems := model.Evaluate(exchange)
package shape
