package ebscsi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
)

// cloud is EC2 as the driver uses it.
type cloud struct {
	client  *ec2.Client
	cluster string
	facts   map[string]instanceFacts // by instance id; only of the goroutine that registers nodes
}

// create makes a volume, or finds the one that was made under its name before, and returns its id once it is available.
func (c *cloud) create(ctx context.Context, spec volumeSpec) (string, error) {
	token := sha256.Sum256([]byte(spec.name))
	tags := map[string]string{
		"CSIVolumeName": spec.name, Name + "/cluster": "true",
		"kubernetes.io/created-for/pvc/name": spec.claim, "kubernetes.io/created-for/pvc/namespace": spec.namespace, "kubernetes.io/created-for/pv/name": spec.name,
		"kubernetes.io/cluster/" + c.cluster: "owned", "KubernetesCluster": c.cluster, Name + "/cluster-name": c.cluster, "Name": c.cluster + "-dynamic-" + spec.name,
	}
	in := &ec2.CreateVolumeInput{
		AvailabilityZone: &spec.zone, ClientToken: aws.String(hex.EncodeToString(token[:])), Size: &spec.sizeGiB, VolumeType: types.VolumeType(spec.kind),
		Encrypted: &spec.encrypted, TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeVolume}},
	}
	for key, value := range tags {
		in.TagSpecifications[0].Tags = append(in.TagSpecifications[0].Tags, types.Tag{Key: &key, Value: &value})
	}
	slices.SortFunc(in.TagSpecifications[0].Tags, func(a, b types.Tag) int { return strings.Compare(*a.Key, *b.Key) }) // a repetition is the same request
	if spec.iops > 0 {
		in.Iops = &spec.iops
	}
	if spec.throughput > 0 {
		in.Throughput = &spec.throughput
	}
	if spec.key != "" {
		in.KmsKeyId = &spec.key
	}
	made, err := c.client.CreateVolume(ctx, in)
	if err != nil {
		return "", err
	}
	for {
		out, err := c.client.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: []string{*made.VolumeId}})
		if err == nil && len(out.Volumes) == 1 && out.Volumes[0].State == types.VolumeStateAvailable {
			return *made.VolumeId, nil
		}
		if err != nil && codeOf(err) != "InvalidVolume.NotFound" {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("volume %s is not available: %w", *made.VolumeId, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// delete deletes a volume; one that is not there is deleted.
func (c *cloud) delete(ctx context.Context, id string) error {
	_, err := c.client.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: &id})
	if codeOf(err) == "InvalidVolume.NotFound" {
		return nil
	}
	return err
}

// Attach attaches a volume to an instance. It may be repeated. It implements `machine.Volumes`.
func (c *cloud) Attach(ctx context.Context, volume, instance string) error {
	found, err := c.instance(ctx, instance)
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, m := range found.BlockDeviceMappings {
		if *m.Ebs.VolumeId == volume {
			return nil
		}
		used[*m.DeviceName] = true
	}
	for first := 'a'; first <= 'z'; first++ {
		for second := 'a'; second <= 'z'; second++ {
			if device := fmt.Sprintf("/dev/xvd%c%c", first, second); !used[device] {
				_, err := c.client.AttachVolume(ctx, &ec2.AttachVolumeInput{Device: &device, InstanceId: &instance, VolumeId: &volume})
				return err
			}
		}
	}
	return fmt.Errorf("instance %s has no free device name", instance)
}

// Detach detaches a volume from an instance. One that is not attached there is detached. It implements `machine.Volumes`.
func (c *cloud) Detach(ctx context.Context, volume, instance string) error {
	_, err := c.client.DetachVolume(ctx, &ec2.DetachVolumeInput{VolumeId: &volume, InstanceId: &instance})
	if slices.Contains([]string{"IncorrectState", "InvalidAttachment.NotFound", "InvalidVolume.NotFound"}, codeOf(err)) {
		return nil
	}
	return err
}

// factsOf returns what the driver reads of an instance. It is read once: the metadata of an instance keeps what it was launched with.
func (c *cloud) factsOf(ctx context.Context, instance string) (instanceFacts, error) {
	if facts, ok := c.facts[instance]; ok {
		return facts, nil
	}
	found, err := c.instance(ctx, instance)
	if err != nil {
		return instanceFacts{}, err
	}
	facts := instanceFacts{zone: *found.Placement.AvailabilityZone, volumes: len(found.BlockDeviceMappings), interfaces: len(found.NetworkInterfaces)}
	c.facts[instance] = facts
	return facts, nil
}

func (c *cloud) instance(ctx context.Context, id string) (types.Instance, error) {
	out, err := c.client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return types.Instance{}, err
	}
	if len(out.Reservations) == 0 || len(out.Reservations[0].Instances) == 0 {
		return types.Instance{}, fmt.Errorf("there is no instance %s", id)
	}
	return out.Reservations[0].Instances[0], nil
}

// codeOf returns the code of an error of EC2; "" for every other, and for none.
func codeOf(err error) string {
	var of smithy.APIError
	if errors.As(err, &of) {
		return of.ErrorCode()
	}
	return ""
}
