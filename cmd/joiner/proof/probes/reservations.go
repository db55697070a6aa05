package probes

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

func reservations() []proof.Probe {
	codes := ofEC2("ec2-reservation-codes", "the error of a launch into a full reservation, and whether an instance outlives its reservation",
		"CreateCapacityReservation of one t4g.nano, RunInstances into it twice, CancelCapacityReservation", proof.KindInstances,
		append([]string{"ec2:CreateCapacityReservation", "ec2:CancelCapacityReservation", "ec2:DescribeCapacityReservations", "ec2:TerminateInstances"}, launchRights...), nil, reservationCodes)
	codes.Readings = []proof.Reading{
		{Name: "reservation", Says: "ReservationCapacityExceeded; the instance runs on", Want: proof.Seen{"second": "ReservationCapacityExceeded", "after the cancel": "runs on"}},
		{Name: "capacity", Says: "InsufficientInstanceCapacity; the instance runs on", Want: proof.Seen{"second": "InsufficientInstanceCapacity", "after the cancel": "runs on"}},
	}
	codes.Cost, codes.Lasts = 3*proof.InstanceCost, time.Minute
	block := ofEC2("ec2-block-end", "what instances of a capacity block that ended say of it", "DescribeCapacityReservations and DescribeInstances, of a block that ended within the hour", proof.KindDryRuns,
		[]string{"ec2:DescribeCapacityReservations", "ec2:DescribeInstances"}, nil, blockEnd)
	block.Readings = []proof.Reading{
		{Name: "model", Says: "EC2 ended them: Server.CapacityBlockExpired or its like", Want: proof.Seen{"state": "terminated", "by": "Server"}},
		{Name: "client", Says: "they look as if somebody had ended them", Want: proof.Seen{"state": "terminated", "by": "Client"}},
	}
	return []proof.Probe{codes, block}
}

func reservationCodes(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	place, err := proof.Where(ctx, e)
	if err != nil {
		return nil, err
	}
	template, err := templateFor(ctx, e, "", nil)
	if err != nil {
		return nil, err
	}
	// The reservation costs what its instance would, whether that runs or not.
	if err := e.Spend("a reservation and two instances", 3*proof.InstanceCost); err != nil {
		return nil, err
	}
	made, err := e.EC2.CreateCapacityReservation(ctx, &ec2.CreateCapacityReservationInput{
		ClientToken: aws.String(e.Token("reservation")), InstanceType: aws.String(string(proof.InstanceType)), InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix,
		AvailabilityZone: &place.Zone, InstanceCount: aws.Int32(1), InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted, EndDateType: types.EndDateTypeLimited, EndDate: aws.Time(e.Now().Add(time.Hour)),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeCapacityReservation, Tags: proof.EC2Tags(e, nil)}},
	})
	if err != nil {
		return nil, err
	}
	id := made.CapacityReservation.CapacityReservationId
	in, err := proof.RunInput(ctx, e, template)
	if err != nil {
		return nil, err
	}
	in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: id}}
	in.ClientToken = aws.String(e.Token("reserved", "first"))
	first, err := e.EC2.RunInstances(ctx, in)
	if err != nil {
		return nil, err
	}
	ids := idsOf(first.Instances)
	if _, _, err := shown(ctx, e, ids[0], proof.Filter("instance-id", ids[0])); err != nil {
		return nil, err
	}
	in.ClientToken = aws.String(e.Token("reserved", "second"))
	second, err := e.EC2.RunInstances(ctx, in)
	if err := proof.Answered(err); err != nil {
		return nil, err
	}
	seen := proof.Seen{"second": proof.Code(err)}
	if err == nil {
		ids = append(ids, idsOf(second.Instances)...)
	}
	if _, err := e.EC2.CancelCapacityReservation(ctx, &ec2.CancelCapacityReservationInput{CapacityReservationId: id}); err != nil {
		return nil, err
	}
	if err := e.Sleep(ctx, 5*time.Second); err != nil {
		return nil, err
	}
	_, i, err := shown(ctx, e, ids[0], proof.Filter("instance-id", ids[0]))
	if err != nil {
		return nil, err
	}
	seen["after the cancel"] = "ends"
	if i.State != nil && (i.State.Name == types.InstanceStateNamePending || i.State.Name == types.InstanceStateNameRunning) {
		seen["after the cancel"] = "runs on"
	}
	return seen, proof.End(ctx, e, ids...)
}

func blockEnd(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	out, err := e.EC2.DescribeCapacityReservations(ctx, &ec2.DescribeCapacityReservationsInput{})
	if err != nil {
		return nil, err
	}
	for _, r := range out.CapacityReservations {
		// Instances of a block are ended half an hour before it ends, and described for an hour.
		if r.ReservationType != types.CapacityReservationTypeCapacityBlock || r.EndDate == nil || r.EndDate.After(e.Now().Add(30*time.Minute)) || r.EndDate.Before(e.Now().Add(-time.Hour)) {
			continue
		}
		found, err := e.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []types.Filter{
			proof.Filter("capacity-reservation-id", aws.ToString(r.CapacityReservationId)), proof.Filter("instance-state-name", "terminated"),
		}})
		if err != nil {
			return nil, err
		}
		for _, x := range found.Reservations {
			for _, i := range x.Instances {
				seen := proof.Seen{"state": string(i.State.Name)}
				if i.StateReason != nil {
					seen["reason"] = aws.ToString(i.StateReason.Code)
					seen["by"], _, _ = strings.Cut(seen["reason"], ".")
				}
				return seen, nil
			}
		}
	}
	return nil, errorf("the account had no capacity block whose instances were ended within the hour")
}
