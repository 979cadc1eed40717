package s3_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"

	"example.org/growthexport/internal/sink"
)

var errKilled = errors.New("the process was killed")

// steps is a Store that calls before with the number of each operation, counted from 0.
type steps struct {
	sink.Store

	before func(n int) error
	taken  atomic.Int64
}

// killedAt returns the store of a process that is killed after that many operations.
func killedAt(store sink.Store, operations int) *steps {
	return &steps{Store: store, before: func(n int) error {
		if n >= operations {
			return errKilled
		}
		return nil
	}}
}

// overtakenAt returns the store of a process that another process overtakes before one operation.
func overtakenAt(store sink.Store, operation int, act func()) *steps {
	return &steps{Store: store, before: func(n int) error {
		if n == operation {
			act()
		}
		return nil
	}}
}

func (s *steps) step() error { return s.before(int(s.taken.Add(1)) - 1) }

func (s *steps) Draft(ctx context.Context, run, path string) (sink.Draft, error) {
	if err := s.step(); err != nil {
		return nil, err
	}
	draft, err := s.Store.Draft(ctx, run, path)
	return &stepsDraft{Draft: draft, steps: s}, err
}

type stepsDraft struct {
	sink.Draft

	steps *steps
}

func (d *stepsDraft) Stage(ctx context.Context) ([]byte, error) {
	if err := d.steps.step(); err != nil {
		return nil, err
	}
	return d.Draft.Stage(ctx)
}

func (s *steps) Holds(ctx context.Context, run string, file sink.File) (bool, error) {
	if err := s.step(); err != nil {
		return false, err
	}
	return s.Store.Holds(ctx, run, file)
}

func (s *steps) Commit(ctx context.Context, run string, file sink.File) error {
	if err := s.step(); err != nil {
		return err
	}
	return s.Store.Commit(ctx, run, file)
}

func (s *steps) Abort(ctx context.Context, run string, file sink.File) error {
	if err := s.step(); err != nil {
		return err
	}
	return s.Store.Abort(ctx, run, file)
}

func (s *steps) Sweep(ctx context.Context, run string) error {
	if err := s.step(); err != nil {
		return err
	}
	return s.Store.Sweep(ctx, run)
}

func (s *steps) Read(ctx context.Context, path string) ([]byte, string, error) {
	if err := s.step(); err != nil {
		return nil, "", err
	}
	return s.Store.Read(ctx, path)
}

func (s *steps) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if err := s.step(); err != nil {
		return err
	}
	return s.Store.Write(ctx, path, data, when)
}

func (s *steps) List(ctx context.Context, prefix string) iter.Seq2[sink.Entry, error] {
	if err := s.step(); err != nil {
		return func(yield func(sink.Entry, error) bool) { yield(sink.Entry{}, err) }
	}
	return s.Store.List(ctx, prefix)
}

func (s *steps) Remove(ctx context.Context, path string) error {
	if err := s.step(); err != nil {
		return err
	}
	return s.Store.Remove(ctx, path)
}
