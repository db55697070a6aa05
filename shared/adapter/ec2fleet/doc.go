// Package ec2fleet buys instances from EC2: it turns a launch into the exact bytes of a CreateFleet request, sends
// stored bytes, finds the instances of an intent by their tag, and asks which instances will not last.
//
// What to buy and what to do about an answer is decided elsewhere. The bytes are this package's own JSON of the request
// with its client token inside; the same launch gives the same bytes, and whoever sends them again, today or after a
// crash, asks for the very same thing. Launch templates are named by a digest of their content, so they are made once
// and never changed.
//
//	fleet := ec2fleet.New(ec2.NewFromConfig(config))
//	request, err := fleet.PrepareRequest(ctx, launch)
//	result, err := fleet.Launch(ctx, request)
package ec2fleet
